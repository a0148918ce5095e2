package assemble

import (
	"crypto/sha256"
	"encoding/binary"
)

// HeldOut reports whether a session is in the arm that gets no scaffold, so that the scaffold's effect can be
// measured. share is the share of sessions held out, in [0,1]. A session's arm never changes while share doesn't, and
// a session held out at one share is held out at every larger one.
func HeldOut(session string, share float64) bool {
	sum := sha256.Sum256([]byte(session))
	// 53 bits are what a float64 holds exactly, so the draw lies in [0,1).
	draw := float64(binary.BigEndian.Uint64(sum[:8])>>11) / (1 << 53)
	return draw < share
}
