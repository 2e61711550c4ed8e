// Symbolic differentiation: boxed expression trees are derived, simplified and evaluated modulo a prime.
use Expr::*;

#[derive(Clone)]
enum Expr {
    Num(i64),
    X,
    Add(Box<Expr>, Box<Expr>),
    Mul(Box<Expr>, Box<Expr>),
}

const M: i64 = 1_000_000_007;

fn derive(e: &Expr) -> Expr {
    match e {
        Num(_) => Num(0),
        X => Num(1),
        Add(a, b) => add(derive(a), derive(b)),
        Mul(a, b) => add(mul(derive(a), (**b).clone()), mul((**a).clone(), derive(b))),
    }
}

fn add(a: Expr, b: Expr) -> Expr {
    match (a, b) {
        (Num(0), e) | (e, Num(0)) => e,
        (a, b) => Add(Box::new(a), Box::new(b)),
    }
}

fn mul(a: Expr, b: Expr) -> Expr {
    match (a, b) {
        (Num(0), _) | (_, Num(0)) => Num(0),
        (Num(1), e) | (e, Num(1)) => e,
        (a, b) => Mul(Box::new(a), Box::new(b)),
    }
}

fn eval(e: &Expr, x: i64) -> i64 {
    match e {
        Num(v) => *v,
        X => x,
        Add(a, b) => (eval(a, x) + eval(b, x)) % M,
        Mul(a, b) => eval(a, x) * eval(b, x) % M,
    }
}

fn grow(depth: u32, s: &mut u32) -> Expr {
    *s = s.wrapping_mul(1664525).wrapping_add(1013904223);
    match (depth, *s >> 28) {
        (0, 0..=9) => X,
        (0, _) => Num((*s >> 8) as i64 % 50),
        (_, 0..=7) => add(grow(depth - 1, s), grow(depth - 1, s)),
        _ => mul(grow(depth - 1, s), grow(depth - 1, s)),
    }
}

fn main() {
    let (mut s, mut hash) = (8u32, 0i64);
    for round in 0..450 {
        let mut e = grow(6, &mut s);
        for _ in 0..4 {
            e = derive(&e);
            hash = (hash * 31 + eval(&e, 3 + round)) % M;
        }
    }
    println!("{}", hash);
}
