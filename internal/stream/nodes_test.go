package stream

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// startNode opens a bench whose wake-ups reach other nodes.
func startNode(t *testing.T, database string) (*bench, *Nodes) {
	t.Helper()
	hub := NewHub()
	nodes := NewNodes(nil, hub, quiet())
	b := open(t, database, hub, nodes.Publish)
	nodes.Attach(b.store)
	ready := hub.Subscribe("ready") // everyone is woken when the node listens
	defer ready.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		nodes.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	<-ready.C
	return b, nodes
}

// Two servers on one database wake each other: followers at one see what the other
// writes without waiting for their next look (D-1).
func TestD1NodesWakeEachOther(t *testing.T) {
	t.Parallel()
	database := storetest.Postgres(t)
	one, _ := startNode(t, database)
	two, _ := startNode(t, database)
	run := one.run()
	woken := two.hub.Subscribe(RunTopic(run))
	defer woken.Close()
	f := two.follow(run, 0)
	_, err := two.read(f, 0, 1)
	two.must(err)
	for i := range 5 {
		one.must(one.append(run, output(fmt.Sprint(i))))
		<-woken.C
		_, err = two.read(f, int64(i)+1, 1)
		two.must(err)
	}
	two.must(two.move(run, lineshaft.Succeeded)) // and back
	back := one.follow(run, 0)
	if end, err := one.read(back, 0, -1); err != nil || end != 7 {
		t.Errorf("ended at %d, %v", end, err)
	}
}

// A listener whose connection breaks comes back, and then everyone looks.
func TestD2ListenerComesBack(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(storetest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("application_name", "broken")
	u.RawQuery = q.Encode()
	b, nodes := startNode(t, u.String())
	sub := b.hub.Subscribe("anything")
	defer sub.Close()
	db, err := sql.Open("pgx", u.String())
	b.must(err)
	defer db.Close()
	var killed int
	b.must(db.QueryRowContext(t.Context(), `SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = $1 AND query = 'LISTEN lineshaft'`, q.Get("application_name")).Scan(&killed))
	if killed != 1 {
		t.Fatalf("%d listeners were cut off", killed)
	}
	<-sub.C
	topic := RunTopic("after")
	woken := b.hub.Subscribe(topic)
	defer woken.Close()
	b.must(b.store.Notify(t.Context(), topic)) // as another node would
	<-woken.C
	nodes.Publish([]string{"x"})
}

// With SQLite there are no other nodes, and with a full queue nobody is held up.
func TestPublishNeverBlocks(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		nodes := NewNodes(b.store, b.hub, quiet())
		sub := b.hub.Subscribe("a")
		defer sub.Close()
		for range 5000 { // nobody sends
			nodes.Publish([]string{"a"})
		}
		if !pending(sub) {
			b.Error("this node was not woken")
		}
		if sqlite := b.store.Engine() == "sqlite"; sqlite == (len(nodes.send) > 0) {
			b.Errorf("%d batches wait to be sent", len(nodes.send))
		}
		b.must(b.store.Notify(b.Context(), "a"))
	})
}

// A server that stops with SQLite ends its waiting.
func TestNodesOfOne(t *testing.T) {
	t.Parallel()
	b, nodes := startNode(t, t.TempDir()+"/test.db")
	sub := b.hub.Subscribe("a")
	defer sub.Close()
	nodes.Publish([]string{"a"})
	if !pending(sub) {
		t.Error("not woken")
	}
}

// Topics are sent in few notifications, none too long for PostgreSQL.
func TestPayloads(t *testing.T) {
	t.Parallel()
	nodes := NewNodes(nil, NewHub(), quiet())
	topics := map[string]bool{}
	for i := range 700 {
		topics[RunTopic(fmt.Sprintf("%036d", i))] = true
	}
	payloads := nodes.payloads(topics)
	var told []string
	for _, payload := range payloads {
		if len(payload) >= 8000 || payload == "" {
			t.Errorf("a payload of %d bytes", len(payload))
		}
		told = append(told, strings.Split(payload, "\n")...)
	}
	slices.Sort(told)
	if told = slices.Compact(told); len(told) != len(topics) || len(payloads) > 6 {
		t.Errorf("%d topics told in %d notifications", len(told), len(payloads))
	}
	if got := nodes.payloads(nil); len(got) != 0 {
		t.Errorf("nothing is told as %q", got)
	}
	for range 3 {
		nodes.send <- []string{"a", "b"}
	}
	if got := nodes.gather([]string{"b", "c"}); len(got) != 3 || len(nodes.send) != 0 {
		t.Errorf("gathered %v", got)
	}
}
