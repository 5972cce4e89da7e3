#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *name(int result) { return result < 0 ? strerrorname_np(errno) : "0"; }

int main(void) {
  int types[] = {SOCK_STREAM, SOCK_DGRAM};
  for (int i = 0; i < 2; i++) {
    int s = socket(i ? AF_INET6 : AF_INET, types[i], 0);
    char device[16] = "";
    socklen_t length = sizeof device;
    getsockopt(s, SOL_SOCKET, SO_BINDTODEVICE, device, &length);
    printf("%s %s", device, name(setsockopt(s, SOL_SOCKET, SO_BINDTODEVICE, "", 0)));
    s = socket(AF_INET, types[i], 0);
    int any = 0;
    // SO_BINDTOIFINDEX
    printf(" %s\n", name(setsockopt(s, SOL_SOCKET, 62, &any, sizeof any)));
  }
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
  inet_pton(AF_INET, "192.0.2.1", &to.sin_addr);
  printf("raw %s\n", name(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)));
  printf("mptcp %s\n", name(socket(AF_INET, SOCK_STREAM, 262)));
  int tcp = socket(AF_INET, SOCK_STREAM, 0);
  struct iovec data = {"x", 1};
  struct msghdr message = {.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &data, .msg_iovlen = 1};
  printf("fast %s", name(sendto(tcp, "x", 1, MSG_FASTOPEN, (void *)&to, sizeof to)));
  printf(" %s\n", name(sendmsg(tcp, &message, MSG_FASTOPEN)));
  // An index in control data goes before the device of the socket.
  struct { struct cmsghdr head; struct in_pktinfo info; } control = {
    {sizeof control.head + sizeof control.info, IPPROTO_IP, IP_PKTINFO}, {.ipi_ifindex = 2}};
  message.msg_control = &control, message.msg_controllen = sizeof control;
  printf("pktinfo %s\n", name(sendmsg(socket(AF_INET, SOCK_DGRAM, 0), &message, 0)));
  printf("uring %s\n", name(syscall(SYS_io_uring_setup, 8, 0)));
  return 0;
}
