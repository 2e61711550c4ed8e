// Look-and-say sequences with strings.Builder, then fields, joins, replacements and counts of the text.
package main

import (
	"fmt"
	"strconv"
	"strings"
)

func say(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] == s[i] {
			j++
		}
		b.WriteString(strconv.Itoa(j - i))
		b.WriteByte(s[i])
		i = j
	}
	return b.String()
}

func main() {
	hash := uint64(0)
	for seed := 1; seed <= 9; seed++ {
		s := strconv.Itoa(seed * 1117)
		for i := 0; i < 43; i++ {
			s = say(s)
		}
		words := strings.Fields(strings.ReplaceAll(s, "3", " "))
		longest := ""
		for i, w := range words {
			if len(w) > len(longest) {
				longest = w
			}
			words[i] = strings.ToUpper(strings.Replace(w, "22", "b", -1)) + strconv.Itoa(i%7)
		}
		text := strings.Join(words, "-")
		for i := 0; i < len(text); i++ {
			hash = hash*131 + uint64(text[i])
		}
		hash += uint64(strings.Count(text, "B1") + strings.Index(text, "1B2") + len(longest))
	}
	fmt.Println(hash)
}
