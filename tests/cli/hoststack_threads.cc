// A release-like C++ program: named threads that wait deep in their stacks. Prints "ready" and waits for the end of its input.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <atomic>
#include <cstdio>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace app {

std::atomic<int> waiting{0};

struct Worker {
	int fd;

	// The empty asm after each call keeps it from becoming a jump, which would leave no frame.
	__attribute__((noinline)) void wait_here(long depth)
	{
		char byte;
		waiting++;
		while (read(fd, &byte, 1) < 0) {  // line: wait_here
		}
		asm volatile("" : : "r"(depth) : "memory");
	}

	template <typename T> __attribute__((noinline)) void descend(T depth)
	{
		if (depth > 0)
			descend<T>(depth - 1);
		else
			wait_here(depth);
		asm volatile("" : : "r"(depth) : "memory");
	}
};

__attribute__((noinline)) void run(Worker worker, int index)
{
	char name[16];
	snprintf(name, sizeof name, "worker-%d", index);
	pthread_setname_np(pthread_self(), name);
	worker.descend<long>(index);
	asm volatile("" : : : "memory");
}

}  // namespace app

int main()
{
	int fds[2];
	char byte;
	if (pipe(fds) != 0)
		return 99;
	std::vector<std::thread> threads;
	for (int i = 0; i < 20; i++)
		threads.emplace_back(app::run, app::Worker{fds[0]}, i);
	while (app::waiting != 20)
		usleep(1000);
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0) {
	}
	close(fds[1]);
	for (auto &t : threads)
		t.join();
	return 0;
}
