// Package soak drives the real binary at full speed and then counts what the
// ledger has of it. It takes a minute, so it runs when asked for:
//
//	go test -tags soak -v ./test/soak
package soak
