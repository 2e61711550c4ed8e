import java.math.BigInteger

fun depth(n: Int): Int = if (n == 0) 0 else depth(n - 1) + 1

fun main() {
    val n = readLine()!!.trim().toInt()
    println("${depth(n)} é ${BigInteger.valueOf(3).pow(20000).toString().length}")
}
