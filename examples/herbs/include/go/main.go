package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
)

func main() {
	k, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	file, err := os.Open("beds.txt")
	if err != nil {
		panic(err)
	}
	beds := bufio.NewReader(file)
	var n int
	fmt.Fscan(beds, &n)
	leaves := make([]int, n)
	for i := range leaves {
		fmt.Fscan(beds, &leaves[i])
	}
	in := bufio.NewReader(os.Stdin)
	var stretches int
	for fmt.Fscan(in, &stretches); stretches > 0; stretches-- {
		var first, last int
		fmt.Fscan(in, &first, &last)
		picked := harvest(leaves[first-1:last], k)
		if picked > {{basket}} {
			picked = {{basket}}
		}
		fmt.Println(picked)
	}
}
