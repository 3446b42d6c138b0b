package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/internal/id"
)

// anchorKind is how much an anchor server does.
type anchorKind string

const (
	// anchorNull reads the body and answers 202.
	anchorNull anchorKind = "N"
	// anchorOne also compares the bearer token, checks the JSON, makes an id and
	// inserts one row, durable before the answer.
	anchorOne anchorKind = "G"
	// anchorTwo also inserts into a second table.
	anchorTwo anchorKind = "G2"
)

// anchorPath is followed by the name of a webhook.
const anchorPath = "/in/"

// anchorOrder is what an anchor server gets.
type anchorOrder struct {
	Kind   anchorKind `json:"kind"`
	Listen string     `json:"listen"`
	// Engine, Driver and DSN name the database; none for the null handler.
	Engine string `json:"engine"`
	Driver string `json:"driver"`
	DSN    string `json:"dsn"`
	// History is how many rows the table holds at the start.
	History int    `json:"history"`
	Token   string `json:"token"`
	// Profile is a file for a CPU profile; empty for none.
	Profile string `json:"profile"`
}

// anchorTargets are the addresses of an anchor server, as many as ours has.
func anchorTargets(token string, n int) []hitTarget {
	targets := make([]hitTarget, n)
	for i := range targets {
		targets[i] = bearerTarget(anchorPath+webhookName(i), token)
	}
	return targets
}

func webhookName(i int) string { return fmt.Sprintf("hook-%02d", i) }

// startAnchor starts an anchor server in a process of its own.
func (s *session) startAnchor(ctx context.Context, order anchorOrder) (*server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	order.Listen = address
	text, err := json.Marshal(order)
	if err != nil {
		return nil, fmt.Errorf("encode order: %w", err)
	}
	cmd := exec.Command(s.self, anchorRole) //nolint:noctx // it is stopped, not killed, when ctx ends
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start anchor: %w", err)
	}
	if _, err := input.Write(append(text, '\n')); err != nil {
		return nil, fmt.Errorf("start anchor: %w", err)
	}
	srv, err := launch(ctx, cmd, address, "")
	if srv != nil {
		srv.input = input
	}
	return srv, err
}

// anchorChild is an anchor server. It ends with its input.
func anchorChild(ctx context.Context, in io.Reader, _ io.Writer) (err error) {
	lines := json.NewDecoder(in)
	var order anchorOrder
	if err := lines.Decode(&order); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	a := &anchorServer{kind: order.Kind, token: sha256.Sum256([]byte(order.Token)), ids: id.New(time.Now)}
	if order.Kind != anchorNull {
		table, err := openAnchorTable(ctx, order)
		if err != nil {
			return err
		}
		a.log = newAnchorLog(ctx, table)
		defer func() { err = errors.Join(err, a.log.stop(context.WithoutCancel(ctx))) }()
	}
	if order.Profile != "" {
		stop, err := profileTo(order.Profile)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", order.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: a, ReadHeaderTimeout: 10 * time.Second}
	over := make(chan error, 1)
	go func() { over <- server.Serve(l) }()
	go func() {
		var word string
		_ = lines.Decode(&word) // returns with the end of the input
		_ = server.Close()
	}()
	if err := <-over; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// anchorServer is the handler of the anchors: the least that every durable ingress must do,
// and nothing else.
type anchorServer struct {
	kind  anchorKind
	token [sha256.Size]byte
	ids   *id.Source
	log   *anchorLog
}

func (a *anchorServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost { // the wait until it is ready
		w.WriteHeader(http.StatusOK)
		return
	}
	body, err := readWhole(r)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if a.kind == anchorNull {
		w.Header()["Content-Length"] = []string{"0"}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(sum[:], a.token[:]) != 1 {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if !json.Valid(body) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	row := anchorRow{
		id: a.ids.NewString(), webhook: strings.TrimPrefix(r.URL.Path, anchorPath), identity: r.Header.Get("X-Service-Delivery-Id"), body: body,
	}
	if err := a.log.insert(&row); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header()["Content-Type"] = []string{"application/json"}
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"delivery_id":"`+row.id+`"}`) // a sender that is gone has its delivery
}

// readWhole reads a body of known length into one piece.
func readWhole(r *http.Request) ([]byte, error) {
	if r.ContentLength < 0 {
		return io.ReadAll(r.Body)
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, body)
	return body, err
}
