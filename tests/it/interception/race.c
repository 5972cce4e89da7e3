// Connects and sends while another thread swaps the address between a port of its own and others, and the descriptor
// between a pair of sockets and a datagram socket.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in own, outside, victim, udp_victim;
static struct sockaddr_in shared;
static int pair[2], swapped, udp;
static volatile int stop;

static void *swap(void *nothing) {
  for (long i = 0; !stop; i++) {
    memcpy((void *)&shared, i % 3 == 0 ? &own : i % 3 == 1 ? &outside : &victim, sizeof shared);
    dup2(i & 1 ? pair[0] : udp, swapped);
  }
  return nothing;
}

static struct sockaddr_in at(const char *ip, int port) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
  inet_pton(AF_INET, ip, &a.sin_addr);
  return a;
}

int main(int count, char **words) {
  socklen_t length = sizeof own;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  own = at("127.0.0.1", 0);
  if (bind(listener, (void *)&own, sizeof own) || listen(listener, 4096)) return 1;
  getsockname(listener, (void *)&own, &length);
  outside = at("192.0.2.1", 81), victim = at("127.0.0.1", atoi(words[1])), udp_victim = at("127.0.0.1", atoi(words[2]));
  shared = outside;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return 2;
  fcntl(pair[0], F_SETFL, O_NONBLOCK), fcntl(listener, F_SETFL, O_NONBLOCK);
  udp = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr nobody = {.sa_family = AF_UNSPEC};
  connect(udp, &nobody, sizeof nobody);
  swapped = dup(pair[0]);
  pthread_t thread;
  pthread_create(&thread, 0, swap, 0);
  int connected = 0, sent = 0;
  for (int i = 0; i < 150; i++) {
    int s = socket(AF_INET, SOCK_STREAM, 0);
    connected += connect(s, (void *)&shared, sizeof shared) == 0;
    close(s);
    struct iovec data = {"x", 1};
    struct msghdr message = {.msg_name = &udp_victim, .msg_namelen = sizeof udp_victim, .msg_iov = &data, .msg_iovlen = 1};
    sent += sendmsg(swapped, &message, MSG_DONTWAIT) == 1;
    sent += sendto(swapped, "x", 1, MSG_DONTWAIT, (void *)&udp_victim, sizeof udp_victim) == 1;
    connect(swapped, (void *)&udp_victim, sizeof udp_victim);
    char drained[64];
    while (recv(pair[1], drained, sizeof drained, MSG_DONTWAIT) > 0);
    s = accept(listener, 0, 0);
    if (s >= 0) close(s);
  }
  stop = 1;
  pthread_join(thread, 0);
  printf("%d %d\n", connected > 0, count);
  return 0;
}
