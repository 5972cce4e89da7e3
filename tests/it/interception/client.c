#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **words) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(words[2]))}, peer;
  socklen_t length = sizeof peer;
  inet_pton(AF_INET, words[1], &to.sin_addr);
  int s = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(s, (void *)&to, sizeof to)) return perror("connect"), 1;
  if (getpeername(s, (void *)&peer, &length)) return perror("getpeername"), 1;
  printf("peer %s:%d\n", inet_ntoa(peer.sin_addr), ntohs(peer.sin_port));
  char text[4096], *body;
  if (send(s, "GET / HTTP/1.0\r\n\r\n", 18, 0) != 18) return 1;
  int got = 0, more;
  while ((more = recv(s, text + got, sizeof text - 1 - got, 0)) > 0) got += more;
  text[got] = 0;
  puts((body = strstr(text, "\r\n\r\n")) ? body + 4 : text);
  return count != 3;
}
