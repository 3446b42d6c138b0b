package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft/internal/signature"
)

// bodyID is replaced by the delivery's id in a body; its length is that of ids.
const bodyID = "00000000000000000000000000000000"

// magazine holds requests as bytes: all that is the same is made once.
type magazine struct {
	seed  uint64
	heads [][]byte // of each target, up to and with the name of the header for the id
	// signed are the further header lines of each request, for targets that sign.
	signed [][]byte
	body   []byte
	// idAt is the place of the id in the body; -1 where there is none.
	idAt int
}

func newMagazine(order hitOrder) (*magazine, error) {
	if len(order.Targets) == 0 {
		return nil, errors.New("no targets")
	}
	m := &magazine{seed: order.Seed, body: order.Body, idAt: bytes.Index(order.Body, []byte(bodyID))}
	for _, target := range order.Targets {
		var head bytes.Buffer
		fmt.Fprintf(&head, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench\r\nContent-Type: application/json\r\nContent-Length: %d\r\n",
			target.Path, order.Address, len(order.Body))
		for _, name := range slices.Sorted(maps.Keys(target.Header)) {
			fmt.Fprintf(&head, "%s: %s\r\n", name, target.Header[name])
		}
		if target.Scheme == "" {
			fmt.Fprintf(&head, "%s: ", target.IDHeader)
		}
		m.heads = append(m.heads, head.Bytes())
	}
	return m, m.sign(order)
}

// sign makes the signatures of all requests before the clock starts: otherwise the generator
// would take as much of the machine as what is measured.
func (m *magazine) sign(order hitOrder) error {
	if order.Targets[0].Scheme == "" {
		return nil
	}
	if order.Limit == 0 {
		return errors.New("signed requests are made beforehand: say how many")
	}
	now := time.Now()
	body := slices.Clone(m.body)
	for n := range order.Limit {
		target := order.Targets[n%len(order.Targets)]
		id := m.id(int64(n))
		if m.idAt >= 0 {
			copy(body[m.idAt:], id[:])
		}
		request := signature.Request{Method: http.MethodPost, Header: http.Header{}, Body: body, Now: now}
		if err := signature.Sign(target.Scheme, signature.HMAC{}, target.Secret, &request, string(id[:])); err != nil {
			return fmt.Errorf("sign: %w", err)
		}
		var lines bytes.Buffer
		for name, values := range request.Header {
			fmt.Fprintf(&lines, "%s: %s\r\n", name, values[0])
		}
		m.signed = append(m.signed, append(lines.Bytes(), '\r', '\n'))
	}
	return nil
}

// append writes request number n.
func (m *magazine) append(dst []byte, n int64) []byte {
	id := m.id(n)
	dst = append(dst, m.heads[n%int64(len(m.heads))]...)
	if m.signed != nil {
		dst = append(dst, m.signed[n]...)
	} else {
		dst = append(append(dst, id[:]...), "\r\n\r\n"...)
	}
	start := len(dst)
	dst = append(dst, m.body...)
	if m.idAt >= 0 {
		copy(dst[start+m.idAt:], id[:])
	}
	return dst
}

// id is unique for a request and in no order, like those that senders make: an
// index over it is written to everywhere.
func (m *magazine) id(n int64) (id [len(bodyID)]byte) {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], mix(m.seed^uint64(n)))
	binary.BigEndian.PutUint64(raw[8:], mix(m.seed+uint64(n)*0x9e3779b97f4a7c15))
	hex.Encode(id[:], raw[:])
	return id
}

// mix turns consecutive numbers into scattered ones; no two become
// the same.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// bearerTarget is a target of a token.
func bearerTarget(path, token string) hitTarget {
	return hitTarget{Path: path, Header: map[string]string{"Authorization": "Bearer " + token}, IDHeader: "X-Service-Delivery-Id"}
}
