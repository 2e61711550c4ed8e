from dmoj.graders.interactive import InteractiveGrader
from dmoj.result import CheckerResult


class Grader(InteractiveGrader):
    def interact(self, case, interactor):
        number = int(case.input_data())
        print("not for the submission")
        for asked in range(1, 12):
            guess = interactor.readint(1, 1000)
            interactor.writeln("right" if guess == number else "low" if guess < number else "high")
            if guess == number:
                return CheckerResult(True, case.points if asked <= 10 else case.points / 2)
        return False
