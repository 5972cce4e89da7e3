/* Asks for the name that it is given, and for an address, with nothing but the C library. */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>

static int ask(const char *host, const char *port) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    char text[4096];
    int length = snprintf(text, sizeof text, "GET /%s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\n\r\n", host, host, port);
    if (getaddrinfo(host, port, &hints, &found) != 0)
        return 1;
    int to = socket(found->ai_family, SOCK_STREAM, 0);
    if (connect(to, found->ai_addr, found->ai_addrlen) != 0 || write(to, text, length) != length)
        return 2;
    for (ssize_t got; (got = read(to, text, sizeof text)) > 0;)
        fwrite(text, 1, got, stdout);
    printf("\n");
    close(to);
    freeaddrinfo(found);
    return 0;
}

int main(int argc, char **argv) {
    int failed = argc == 2 ? ask("localhost", argv[1]) : 3;
    return failed ? failed : ask("127.0.0.1", argv[1]);
}
