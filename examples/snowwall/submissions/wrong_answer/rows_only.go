package main

import "fmt"

// Forgets the leftover.
func main() {
	var days int
	fmt.Scan(&days)
	for ; days > 0; days-- {
		var n, rows int64
		fmt.Scan(&n)
		for step := int64(1 << 30); step > 0; step /= 2 {
			if (rows+step)*(rows+step+1)/2 <= n {
				rows += step
			}
		}
		fmt.Println(rows)
	}
}
