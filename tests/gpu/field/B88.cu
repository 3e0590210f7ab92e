// build: nvcc -std=c++17 -g -G -gencode arch=compute_75,code=compute_75 -o b88 b88.cu   (PTX only: JIT on newer GPU)
#include <cstdio>
#include <cassert>
#include <tuple>
template <typename... T> struct Pack {};
template <int N, typename... T> struct Grow { using type = typename Grow<N - 1, std::tuple<T...>, Pack<T, std::tuple<T, T>>...>::type; };
template <typename... T> struct Grow<0, T...> { using type = Pack<T...>; };
template <typename P> __device__ __noinline__ int probe(const int* p, P) { assert(p[0] > 0); return p[0]; }
template <typename P> __global__ void chain(const int* p, int* o, P t) { *o = probe(p, t); }
int main() { int *p, *o; cudaMalloc(&p, 4); cudaMalloc(&o, 4); cudaMemset(p, 0, 4);
  chain<<<1, 1>>>(p, o, typename Grow<6, int, float>::type{}); printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize())); }
