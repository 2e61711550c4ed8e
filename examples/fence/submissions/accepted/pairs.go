package main

import "fmt"

const p = 1000000007

type matrix [2][2]int64

func (x matrix) times(y matrix) (z matrix) {
	for i := range z {
		for j := range z[i] {
			z[i][j] = (x[i][0]*y[0][j] + x[i][1]*y[1][j]) % p
		}
	}
	return z
}

func main() {
	var n int64
	fmt.Scan(&n)
	power, step := matrix{{1, 0}, {0, 1}}, matrix{{2, 1}, {2, 0}}
	for ; n > 0; n /= 2 {
		if n%2 == 1 {
			power = power.times(step)
		}
		step = step.times(step)
	}
	fmt.Println((power[0][0] + power[0][1]) % p)
}
