import java.util.*;
class Helper { static long add(long a,long b){return a+b;} }
public class Sol { static int deep(int n){ return n==0?0:1+deep(n-1);} public static void main(String[] args){ Scanner s=new Scanner(System.in); long a=s.nextLong(), b=s.nextLong(); if(deep(200000)!=200000) throw new RuntimeException(); System.out.println(Helper.add(a,b)); } }
