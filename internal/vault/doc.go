// Package vault encrypts the values of secrets before they are stored (S-1). A
// value is encrypted under a data key of its own, and the data key is wrapped by
// a master key that the database never sees. Rotating the master key therefore
// re-wraps 32 bytes per secret and leaves the values alone.
//
// It does not store anything, does not decide who may use a secret, and does not
// mask values in output. What it makes is bound to a name, so that somebody who
// can write to the database cannot pass one secret off as another; that person
// can still put back an older value of the same name.
//
// A Vault does not change after it was made and may be used by many goroutines.
package vault
