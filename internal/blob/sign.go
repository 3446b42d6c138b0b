package blob

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
)

const (
	algorithm = "AWS4-HMAC-SHA256"
	// emptyDigest is that of no body.
	emptyDigest  = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	digestHeader = "X-Amz-Content-Sha256"
	dateHeader   = "X-Amz-Date"
)

// sign adds the headers of a version 4 signature for the given digest of the body.
// Every header that the request has by now is signed.
func (b *Bucket) sign(req *http.Request, digest string) {
	at := b.config.Now().UTC()
	stamp, day := at.Format("20060102T150405Z"), at.Format("20060102")
	req.Header.Set(digestHeader, digest)
	req.Header.Set(dateHeader, stamp)
	names, lines := canonicalHeaders(req)
	request := strings.Join([]string{req.Method, req.URL.EscapedPath(), "", lines, names, digest}, "\n")
	scope := strings.Join([]string{day, b.config.Region, "s3", "aws4_request"}, "/")
	text := strings.Join([]string{algorithm, stamp, scope, hexDigest(request)}, "\n")
	key := []byte("AWS4" + string(b.config.Secret))
	for _, part := range strings.Split(scope, "/") {
		key = keyed(key, part)
	}
	req.Header.Set("Authorization", algorithm+" Credential="+b.config.KeyID+"/"+scope+", SignedHeaders="+names+", Signature="+hex.EncodeToString(keyed(key, text)))
}

// canonicalHeaders lists the names, and the lines with their values.
func canonicalHeaders(req *http.Request) (names, lines string) {
	values := map[string]string{"host": req.URL.Host}
	list := []string{"host"}
	for name, value := range req.Header {
		lower := strings.ToLower(name)
		values[lower] = strings.TrimSpace(strings.Join(value, ","))
		list = append(list, lower)
	}
	slices.Sort(list)
	for _, name := range list {
		lines += name + ":" + values[name] + "\n"
	}
	return strings.Join(list, ";"), lines
}

func keyed(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

func hexDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
