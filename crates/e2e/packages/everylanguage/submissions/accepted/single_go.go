package main
import ("bufio";"fmt";"os";"sort")
func main(){ var a,b int; r:=bufio.NewReader(os.Stdin); fmt.Fscan(r,&a,&b); x:=[]int{a,b}; sort.Ints(x); fmt.Println(x[0]+x[1])}
