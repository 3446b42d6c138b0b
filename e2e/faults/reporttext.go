//go:build linux

package main

const reportHead = `# Fault report

`

const reportTail = `
`
