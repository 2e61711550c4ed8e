#!/bin/sh
# Calls a checker or an interactor of another judge as an output validator is called: input, answer, feedback directory.
here=$(dirname "$0")
input=$1
answer=$2
feedback=$3
said=$feedback/said.txt
printed=$feedback/printed.txt
output=$feedback/output.txt

accept() {
    cp "$said" "$feedback/judgemessage.txt"
    exit 42
}

reject() {
    cp "$said" "$feedback/judgemessage.txt"
    exit 43
}

fail() {
    cat "$said" >&2
    echo "the checker failed with exit code $code" >&2
    exit 1
}

# A share of the points; none of them is a rejection.
multiply() {
    case $(awk -v share="$1" 'BEGIN { print (share == share + 0) ? (share <= 0 ? "none" : share == 1 ? "all" : "part") : "bad" }') in
        none) reject ;;
        all) accept ;;
        part) printf '%s\n' "$1" > "$feedback/score_multiplier.txt"; accept ;;
        *) fail ;;
    esac
}

# Points; none of them is a rejection.
score() {
    case $(awk -v points="$1" 'BEGIN { print (points == points + 0) ? (points == 0 ? "none" : "some") : "bad" }') in
        none) reject ;;
        some) printf '%s\n' "$1" > "$feedback/score.txt"; accept ;;
        *) fail ;;
    esac
}

# The word after a first word at the beginning of a line.
told() {
    awk -v word="$1" '$1 == word { print $2; exit }' "$said"
}

