package client

import (
	"strings"
	"testing"
)

func TestS1SecretCalls(t *testing.T) {
	t.Parallel()
	one := `{"name":"TOKEN","kind":"managed","access":"runs","created_at":"2026-08-01T09:30:00Z","updated_at":"2026-08-01T09:30:00Z"}`
	c, s := scripted(
		t, answer(201, one), answer(200, one), answer(200, one),
		answer(200, `{"secrets":[`+one+`],"page_info":{"has_next_page":true,"next_cursor":"TOKEN"}}`),
		answer(200, `{"secrets":[{"name":"Z"}],"page_info":{"has_next_page":false}}`),
		answer(204, ""),
	)
	value := "a-value"
	made, err := c.Secrets.Create(t.Context(), SecretRequest{Name: "TOKEN", Value: value, Access: "runs"})
	if err != nil || made.Access != "runs" || made.CreatedAt.IsZero() {
		t.Errorf("Create = %+v, %v", made, err)
	}
	if _, err := c.Secrets.Get(t.Context(), "TOKEN"); err != nil {
		t.Error(err)
	}
	if _, err := c.Secrets.Update(t.Context(), "TOKEN", SecretChange{Value: &value}); err != nil {
		t.Error(err)
	}
	list, err := c.Secrets.List(t.Context())
	if err != nil || len(list) != 2 || list[1].Name != "Z" {
		t.Errorf("List = %+v, %v", list, err)
	}
	if err := c.Secrets.Delete(t.Context(), "TOKEN"); err != nil {
		t.Error(err)
	}
	var calls []string
	for _, r := range s.requests() {
		calls = append(calls, strings.TrimSuffix(r.method+" "+r.path+"?"+r.query, "?"))
	}
	want := "POST /api/v1/secrets, GET /api/v1/secrets/TOKEN, PUT /api/v1/secrets/TOKEN, GET /api/v1/secrets, GET /api/v1/secrets?cursor=TOKEN, DELETE /api/v1/secrets/TOKEN"
	if got := strings.Join(calls, ", "); got != want {
		t.Errorf("called %s", got)
	}
	if got := s.requests()[2].body; got != `{"value":"a-value"}` {
		t.Errorf("the update sends %s", got)
	}
}

func TestS1SecretNamesAreOneSegment(t *testing.T) {
	t.Parallel()
	c, s := scripted(t)
	for _, name := range []string{"", ".", ".."} {
		if _, err := c.Secrets.Get(t.Context(), name); err == nil {
			t.Errorf("%q is taken", name)
		}
		if err := c.Secrets.Delete(t.Context(), name); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
	if len(s.requests()) > 0 {
		t.Errorf("%d requests were sent", len(s.requests()))
	}
}
