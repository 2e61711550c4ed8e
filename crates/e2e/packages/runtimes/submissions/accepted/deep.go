package main

import (
	"fmt"
	"math/big"
)

func depth(n int) int {
	if n == 0 {
		return 0
	}
	return depth(n-1) + 1
}

func main() {
	var n int
	fmt.Scan(&n)
	power := new(big.Int).Exp(big.NewInt(3), big.NewInt(20000), nil)
	fmt.Println(depth(n), "é", len(power.String()))
}
