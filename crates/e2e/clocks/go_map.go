// Counting and looking up integers in a map.
package main

import "fmt"

func main() {
	count := make(map[int]int)
	s := uint64(4711)
	next := func() int {
		s ^= s << 13
		s ^= s >> 7
		s ^= s << 17
		return int(s % 400000)
	}
	for i := 0; i < 18000000; i++ {
		count[next()]++
	}
	pairs := 0
	for k, c := range count {
		if other, ok := count[k*2+1]; ok {
			pairs += c * other
		}
	}
	for i := 0; i < 300000; i++ {
		delete(count, next())
	}
	fmt.Println(len(count), pairs)
}
