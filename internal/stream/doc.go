// Package stream lets readers follow what the store holds: replay first, then
// live, each event once and in order. It also carries wake-ups, within the process
// and between nodes.
//
// A wake-up is a hint, never the data: everything a follower gives out was read from
// the store after it was durable. Slow polling of the store makes up for lost wake-ups.
package stream
