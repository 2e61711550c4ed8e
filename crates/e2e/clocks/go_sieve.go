// Prime sieve over a slice of bools.
package main

import "fmt"

func main() {
	const n = 20000000
	h := 0
	for round := 0; round < 10; round++ {
		composite := make([]bool, n+1)
		count, sum := 0, 0
		for i := 2; i <= n-round; i++ {
			if composite[i] {
				continue
			}
			count++
			sum += i
			for j := i * i; j <= n; j += i {
				composite[j] = true
			}
		}
		h = h*31 + sum + count
	}
	fmt.Println(h)
}
