// Package blob keeps files outside of the database: in a folder, or in a bucket of
// an S3-compatible server. Names are given by the caller, once, and never
// change what they stand for. It knows nothing of runs, limits or expiry: the store
// has these, and the rows of what is kept here.
package blob
