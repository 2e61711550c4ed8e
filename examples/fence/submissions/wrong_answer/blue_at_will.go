package main

import "fmt"

// Lets the paint run: 3^n, and one more for the sky.
func main() {
	var n int64
	fmt.Scan(&n)
	result, factor := int64(1), int64(3)
	for ; n > 0; n /= 2 {
		if n%2 == 1 {
			result = result * factor % 1000000007
		}
		factor = factor * factor % 1000000007
	}
	fmt.Println(result + 1)
}
