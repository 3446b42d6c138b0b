package api
import ("testing";"os")
func TestSmoke(t *testing.T){ b,err:=OpenAPI(); if err!=nil {t.Fatal(err)}; os.WriteFile("/tmp/oapi.yaml",b,0o644) }
