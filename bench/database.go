package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // for the databases of the benchmark
	_ "modernc.org/sqlite"             // same
)

// database is one that the benchmark made.
type database struct {
	engine string
	// url is what --database takes.
	url string
	// raw opens it next to the store, for filling and checking.
	driver, dsn string
	drop        func(ctx context.Context) error
	// dataDir is for the servers on it, which share the key of its secrets.
	dataDir string
}

// errNoPostgres says how to get one.
var errNoPostgres = errors.New("LINESHAFT_TEST_POSTGRES is not set; make bench sets it")

// newDatabase makes an empty one, which is dropped at the end.
func (s *session) newDatabase(ctx context.Context, engine, name string) (*database, error) {
	name = "bench_" + name + "_" + strings.ToLower(rand.Text()) // others may use the same server
	var db *database
	if engine == sqlite {
		file := filepath.Join(s.dir, name+".db")
		db = &database{engine: engine, url: file, driver: "sqlite", dsn: "file:" + file + "?_pragma=busy_timeout(60000)", drop: func(context.Context) error {
			return errors.Join(remove(file), remove(file+"-wal"), remove(file+"-shm"), remove(file+".lock"))
		}}
	} else {
		made, err := s.createPostgres(ctx, name)
		if err != nil {
			return nil, err
		}
		db = made
	}
	db.dataDir = filepath.Join(s.dir, "data-"+name)
	s.databases = append(s.databases, db)
	return db, nil
}

// dropDatabase removes one before the end, to give its disk back.
func (s *session) dropDatabase(ctx context.Context, db *database) error {
	err := db.drop(ctx)
	db.drop = func(context.Context) error { return nil }
	return err
}

func remove(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (s *session) createPostgres(ctx context.Context, name string) (*database, error) {
	if s.admin == "" {
		return nil, errNoPostgres
	}
	u, err := url.Parse(s.admin)
	if err != nil {
		return nil, errors.New("LINESHAFT_TEST_POSTGRES is not a URL")
	}
	if err := s.adminExec(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, fmt.Errorf("create database: %w", err)
	}
	u.Path = "/" + name
	return &database{engine: postgres, url: u.String(), driver: "pgx", dsn: u.String(), drop: func(ctx context.Context) error {
		return s.adminExec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	}}, nil
}

func (s *session) adminExec(ctx context.Context, statement string) error {
	db, err := sql.Open("pgx", s.admin)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}

// with opens the database next to the store while fn runs.
func (d *database) with(ctx context.Context, fn func(ctx context.Context, db *sql.DB) error) error {
	db, err := sql.Open(d.driver, d.dsn)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	db.SetMaxOpenConns(1)
	return errors.Join(fn(ctx, db), db.Close())
}

// number asks for one number.
func (d *database) number(ctx context.Context, query string) (n int64, err error) {
	err = d.with(ctx, func(ctx context.Context, db *sql.DB) error {
		return db.QueryRowContext(ctx, query).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", query, err)
	}
	return n, nil
}
