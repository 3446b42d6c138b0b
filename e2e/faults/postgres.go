//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// cluster is a PostgreSQL with a streaming replica that every COMMIT waits for.
type cluster struct {
	bin         string
	nodes       [2]*database
	primary     int
	replication *link // from the replica to the primary
}

// database is one server of the cluster, on a small file system of its own.
type database struct {
	process
	disk        *disk
	mount, data string
	port        int
}

const databaseMegabytes = 700

// newCluster makes and starts both. What there is of it must be stopped, whatever the error.
func newCluster(ctx context.Context, dir, self string) (*cluster, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is good
	if len(found) == 0 {
		return nil, errors.New("PostgreSQL is not installed; run scripts/install-deps")
	}
	c := &cluster{bin: filepath.Dir(slices.Max(found))}
	for i := range c.nodes {
		port, err := freePort(ctx)
		if err != nil {
			return c, err
		}
		n := &database{mount: filepath.Join(dir, fmt.Sprintf("pg%d", i)), port: port}
		if n.disk, err = newDisk(n.mount + ".sock"); err != nil {
			return c, err
		}
		n.data, n.name = filepath.Join(n.mount, "data"), fmt.Sprintf("postgres-%d", i)
		n.process.log, n.process.dir = filepath.Join(dir, n.name+".log"), "/"
		n.args = c.owner(self, wrapRole, n.disk.path, filepath.Join(c.bin, "postgres"), "-D", n.data, "-p", fmt.Sprint(port))
		c.nodes[i] = n
		if err := mountSmall(ctx, n.mount, databaseMegabytes); err != nil {
			return c, err
		}
		if err := exec.CommandContext(ctx, "chown", "postgres", n.mount).Run(); err != nil {
			return c, fmt.Errorf("chown: %w", err)
		}
	}
	if err := c.init(ctx); err != nil {
		return c, err
	}
	var err error
	if c.replication, err = newLink(ctx, "replication", c.address(0)); err != nil {
		return c, err
	}
	return c, c.addReplica(ctx)
}

// owner is a command line as the user that PostgreSQL runs as.
func (c *cluster) owner(args ...string) []string {
	return append([]string{"setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--pdeathsig", "KILL"}, args...)
}

func (c *cluster) address(i int) string { return fmt.Sprintf("127.0.0.1:%d", c.nodes[i].port) }

// run runs a program of PostgreSQL to its end.
func (c *cluster) run(ctx context.Context, program string, args ...string) error {
	words := c.owner(append([]string{filepath.Join(c.bin, program)}, args...)...)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = "/"
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, out)
	}
	return nil
}

// query asks one of the servers.
func (c *cluster) query(ctx context.Context, i int, sql string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "psql"), "-h", "127.0.0.1", "-p", fmt.Sprint(c.nodes[i].port), "-U",
		"postgres", "-qAtc", sql)
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

func (c *cluster) init(ctx context.Context) error {
	n := c.nodes[0]
	if err := c.run(ctx, "initdb", "--pgdata="+n.data, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C",
		"--wal-segsize=1", "--no-sync"); err != nil {
		return err
	}
	conf := `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
shared_buffers = 64MB
wal_level = replica
max_wal_senders = 10
max_wal_size = 48MB
wal_keep_size = 48MB
wal_sender_timeout = 5s
wal_receiver_timeout = 5s
wal_retrieve_retry_interval = 200ms
timezone = 'UTC'
`
	file, err := os.OpenFile(filepath.Join(n.data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(conf)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return c.startNode(ctx, 0)
}

// startNode starts a server and waits until it answers.
func (c *cluster) startNode(ctx context.Context, i int) error {
	if err := c.nodes[i].start(); err != nil {
		return err
	}
	return c.awaitNode(ctx, i)
}

// awaitNode waits until a server answers, and starts it again when it has ended.
func (c *cluster) awaitNode(ctx context.Context, i int) error {
	return await(ctx, c.nodes[i].name+" answers", func(ctx context.Context) bool {
		if !c.nodes[i].running() && c.nodes[i].start() != nil {
			return false
		}
		_, err := c.query(ctx, i, "SELECT 1")
		return err == nil
	})
}

// addReplica makes the other server a new copy of the primary, and has every COMMIT
// wait for it from then on.
func (c *cluster) addReplica(ctx context.Context) error {
	i := 1 - c.primary
	n := c.nodes[i]
	n.kill()
	if err := os.RemoveAll(n.data); err != nil {
		return err
	}
	c.replication.lead(c.address(c.primary))
	host, port, _ := strings.Cut(c.replication.address(), ":")
	if err := c.run(ctx, "pg_basebackup", "-D", n.data, "-h", host, "-p", port, "-U", "postgres", "-R", "-X", "stream",
		"--checkpoint=fast", "--no-sync"); err != nil {
		return err
	}
	// What was promoted commits alone until it has a replica of its own.
	auto := filepath.Join(n.data, "postgresql.auto.conf")
	text, err := os.ReadFile(auto)
	if err != nil {
		return err
	}
	lines := slices.DeleteFunc(slices.Collect(strings.Lines(string(text))),
		func(l string) bool { return strings.HasPrefix(l, "synchronous_standby_names") })
	if err := os.WriteFile(auto, []byte(strings.Join(lines, "")), 0o600); err != nil {
		return err
	}
	if err := c.startNode(ctx, i); err != nil {
		return err
	}
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if _, err := c.query(ctx, c.primary, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return c.awaitSync(ctx)
}

// awaitSync waits until every COMMIT is also on the replica.
func (c *cluster) awaitSync(ctx context.Context) error {
	return await(ctx, "the replica has all", func(ctx context.Context) bool {
		state, err := c.query(ctx, c.primary, "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'")
		return err == nil && state == "sync"
	})
}

// promote ends the primary and lets the replica take over. It calls follow when the new
// primary accepts writes, with the address to use from then on.
func (c *cluster) promote(ctx context.Context, follow func(address string)) error {
	if err := c.awaitSync(ctx); err != nil {
		return err
	}
	c.nodes[c.primary].kill()
	c.primary = 1 - c.primary
	if err := c.run(ctx, "pg_ctl", "promote", "-D", c.nodes[c.primary].data, "-t", "120"); err != nil {
		return err
	}
	follow(c.address(c.primary))
	return nil
}

// url is where servers find the database, through a link.
func databaseURL(l *link) string {
	return "postgres://postgres@" + l.address() + "/postgres?sslmode=disable"
}

func (c *cluster) stop(ctx context.Context) {
	for _, n := range c.nodes {
		if n != nil {
			n.disk.set(0, false)
			thaw(n.pid()) // also those below it, which would stay
			n.stop(ctx, syscall.SIGQUIT, closePatience)
			_ = n.disk.listener.Close()
			unmount(n.mount)
		}
	}
}

// mountSmall mounts a file system that can be filled.
func mountSmall(ctx context.Context, dir string, megabytes int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", megabytes), "lineshaft-faults",
		dir).CombinedOutput(); err != nil {
		return fmt.Errorf("mount: %w: %s", err, out)
	}
	return nil
}

func unmount(dir string) {
	_ = exec.Command("umount", "-l", dir).Run() //nolint:noctx // also when all is over
}
