// Sends "LEAK" by every way in which the kernel itself would choose where to, and races a descriptor against sendmsg(2).
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <fcntl.h>
#include <netinet/in.h>

static int pair[2], swapped, udp;
static volatile int stop;

static void *swap(void *nothing) {
  for (long i = 0; !stop; i++) dup2(i & 1 ? pair[0] : udp, swapped);
  return nothing;
}

static void routing_header(void) {
  struct sockaddr_in6 own = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
  socklen_t length = sizeof own;
  int server = socket(AF_INET6, SOCK_DGRAM, 0);
  bind(server, (void *)&own, sizeof own), getsockname(server, (void *)&own, &length);
  struct in6_addr hop;
  inet_pton(AF_INET6, "2001:db8::9", &hop);
  // RFC 8754: a segment routing header of two segments, and of one of Mobile IPv6 (RFC 6275).
  struct {
    unsigned char next, length, type, left, last, flags;
    unsigned short tag;
    struct in6_addr segments[2];
  } four = {0, 4, 4, 1, 1, 0, 0, {in6addr_loopback, hop}};
  struct {
    unsigned char next, length, type, left;
    int reserved;
    struct in6_addr home;
  } two = {0, 2, 2, 1, 0, hop};
  void *headers[] = {&four, &two};
  int lengths[] = {sizeof four, sizeof two};
  for (int i = 0; i < 2; i++)
    for (int by_control = 0; by_control < 2; by_control++) {
      int client = socket(AF_INET6, SOCK_DGRAM, 0);
      struct { struct cmsghdr head; char data[64]; } control = {{CMSG_LEN(lengths[i]), IPPROTO_IPV6, IPV6_RTHDR}, {0}};
      memcpy(control.data, headers[i], lengths[i]);
      if (by_control)
        setsockopt(client, IPPROTO_IPV6, 6 /* IPV6_2292PKTOPTIONS */, &control, CMSG_SPACE(lengths[i]));
      else
        setsockopt(client, IPPROTO_IPV6, IPV6_RTHDR, headers[i], lengths[i]);
      sendto(client, "LEAK rthdr", 10, 0, (void *)&own, sizeof own);
      if (connect(client, (void *)&own, sizeof own) == 0) send(client, "LEAK rthdr", 10, 0), write(client, "LEAK rthdr", 10);
      close(client);
    }
}

static void source_route(void) {
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof own;
  int server = socket(AF_INET, SOCK_DGRAM, 0), client = socket(AF_INET, SOCK_DGRAM, 0);
  bind(server, (void *)&own, sizeof own), getsockname(server, (void *)&own, &length);
  // A loose source route (RFC 791) by way of 198.51.100.9.
  unsigned char route[] = {131, 7, 4, 198, 51, 100, 9, 0};
  setsockopt(client, IPPROTO_IP, IP_OPTIONS, route, sizeof route);
  sendto(client, "LEAK route", 10, 0, (void *)&own, sizeof own);
  if (connect(client, (void *)&own, sizeof own) == 0) send(client, "LEAK route", 10, 0);
}

static void join(void) {
  struct ip_mreqn four = {.imr_ifindex = if_nametoindex("d0")};
  struct ipv6_mreq six = {.ipv6mr_interface = if_nametoindex("d0")};
  inet_pton(AF_INET, "239.76.69.65", &four.imr_multiaddr);
  inet_pton(AF_INET6, "ff05::4c:4541:4b", &six.ipv6mr_multiaddr);
  struct group_req group = {.gr_interface = four.imr_ifindex};
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = four.imr_multiaddr};
  to.sin_addr.s_addr ^= htonl(1);
  memcpy(&group.gr_group, &to, sizeof to);
  int kinds[] = {SOCK_DGRAM, SOCK_STREAM};
  for (int i = 0; i < 2; i++) {
    int s = socket(AF_INET, kinds[i], 0);
    setsockopt(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, &four, sizeof four);
    setsockopt(s, IPPROTO_IP, MCAST_JOIN_GROUP, &group, sizeof group);
    setsockopt(socket(AF_INET6, kinds[i], 0), IPPROTO_IPV6, IPV6_JOIN_GROUP, &six, sizeof six);
  }
}

static void device(void) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(76)};
  inet_pton(AF_INET, "198.51.100.7", &to.sin_addr);
  int s = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(s, SOL_SOCKET, SO_BINDTODEVICE, "d0", 2);
  fcntl(s, F_SETFL, O_NONBLOCK);
  connect(s, (void *)&to, sizeof to);
}

static void forget(void) {
  // Without a peer a socket has no device either, and an option names another.
  int s = socket(AF_INET, SOCK_DGRAM, 0), index = htonl(if_nametoindex("d0"));
  struct sockaddr nobody = {.sa_family = AF_UNSPEC};
  connect(s, &nobody, sizeof nobody);
  setsockopt(s, IPPROTO_IP, 50 /* IP_UNICAST_IF */, &index, sizeof index);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53)};
  inet_pton(AF_INET, "198.51.100.7", &to.sin_addr);
  sendto(s, "LEAK device", 11, 0, (void *)&to, sizeof to);
}

static void race(void) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(76)};
  inet_pton(AF_INET, "198.51.100.7", &to.sin_addr);
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  fcntl(pair[0], F_SETFL, O_NONBLOCK);
  udp = socket(AF_INET, SOCK_DGRAM, 0), swapped = dup(pair[0]);
  struct sockaddr nobody = {.sa_family = AF_UNSPEC};
  connect(udp, &nobody, sizeof nobody);
  pthread_t thread;
  pthread_create(&thread, 0, swap, 0);
  struct { struct cmsghdr head; struct in_pktinfo info; int pad; } control = {
    {CMSG_LEN(sizeof control.info), IPPROTO_IP, IP_PKTINFO}, {.ipi_ifindex = if_nametoindex("d0")}, 0};
  struct iovec data = {"LEAK race", 9};
  struct msghdr message = {&to, sizeof to, &data, 1, &control, sizeof control, 0};
  struct mmsghdr many = {message, 0};
  for (int i = 0; i < 2000; i++) {
    sendmsg(swapped, &message, MSG_DONTWAIT);
    sendmmsg(swapped, &many, 1, MSG_DONTWAIT);
    sendto(swapped, "LEAK race", 9, MSG_DONTWAIT, (void *)&to, sizeof to);
    if (connect(swapped, (void *)&to, sizeof to) == 0) write(udp, "LEAK race", 9);
    char drained[64];
    while (recv(pair[1], drained, sizeof drained, MSG_DONTWAIT) > 0);
  }
  stop = 1;
  pthread_join(thread, 0);
}

int main(int count, char **words) {
  routing_header(), source_route(), join(), device(), forget();
  if (count == 1) race();
  puts("done");
  return 0;
}
