package embed

// Query is a vector made ready to be compared with many: its elements by twos
// in words of 64 bits, so that one multiplication does for two.
type Query struct {
	words [Dim / 2]int64
	shift int64 // what Dot has too much because it takes the others' elements as 0 to 255
}

// NewQuery readies a vector of Dim elements.
func NewQuery(v []int8) (q Query) {
	for i := range q.words { // Word i holds elements k and k+4, the first in the upper half.
		k := i/4*8 + i%4
		q.words[i] = int64(v[k])<<32 + int64(v[k+4])
		q.shift += 128 * (int64(v[k]) + int64(v[k+4]))
	}

	return q
}

// Dot returns the inner product with a vector of Dim elements.
//
// A word of the other vector holds its elements a and b in the lower and upper
// half, one of the query's holds x and y the other way round. The upper half of
// their product is ax + by, plus what the lower half, ay, carries; that no sum
// of the lower halves reaches 2³¹ lets the carry be undone at the end.
func (q *Query) Dot(v []int8) int32 {
	const pair = 0x000000FF_000000FF
	var s0, s1, s2, s3 int64
	v = v[:Dim]
	for i := 0; i < Dim; i += 8 {
		b, w := v[i:i+8:i+8], q.words[i/2:i/2+4:i/2+4]
		x := uint64(uint8(b[0])) | uint64(uint8(b[1]))<<8 | uint64(uint8(b[2]))<<16 | uint64(uint8(b[3]))<<24 |
			uint64(uint8(b[4]))<<32 | uint64(uint8(b[5]))<<40 | uint64(uint8(b[6]))<<48 | uint64(uint8(b[7]))<<56
		x ^= 0x80808080_80808080
		s0 += int64(x&pair) * w[0]
		s1 += int64(x>>8&pair) * w[1]
		s2 += int64(x>>16&pair) * w[2]
		s3 += int64(x>>24&pair) * w[3]
	}

	return int32((s0+s1+s2+s3+1<<31)>>32 - q.shift)
}
