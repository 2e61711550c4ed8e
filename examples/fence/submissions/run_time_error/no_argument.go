package main

import (
	"fmt"
	"os"
)

// Expects the number of planks on the command line.
func main() {
	fmt.Println("planks:", os.Args[1])
}
