fun main() {
    readLine()
}
