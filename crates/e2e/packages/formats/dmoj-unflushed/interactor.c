#include <stdio.h>

int main(int count, char **arguments) {
    int secret, guess;
    FILE *input = count > 1 ? fopen(arguments[1], "r") : NULL;
    if (input == NULL || fscanf(input, "%d", &secret) != 1)
        return 2;
    while (scanf("%d", &guess) == 1) {
        if (guess == secret)
            return 0;
        printf("%s ", guess < secret ? "low" : "high");
    }
    return 1;
}
