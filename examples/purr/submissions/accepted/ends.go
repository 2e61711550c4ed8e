package main

import "fmt"

// Compares the ends of the interval that is left: one half of it is nearer to the louder end.
func main() {
	var n int
	fmt.Scan(&n)
	low, high := 1, n
	for low < high {
		fmt.Println("?", low)
		var word string
		fmt.Scan(&word)
		fmt.Println("?", high)
		fmt.Scan(&word)
		middle := (low + high) / 2
		switch word {
		case "louder":
			low = middle + 1
		case "softer":
			high = middle - (low+high+1)%2
		default:
			low, high = middle, middle
		}
	}
	fmt.Println("!", low)
}
