/* What the kernel alone needs for the walls of one command: user, mount, network, pid and ipc namespaces, a root of 24 mounts,
   a /proc, and a process above the program. No Landlock, no filter, no configuration.

   cc -O1 -static floor.c -o floor && ./floor         needs root */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(long result, const char *what) {
    if (result < 0) {
        perror(what);
        exit(1);
    }
}

static void map(int process, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", process, name);
    int file = open(path, O_WRONLY);
    must(write(file, "0 0 65536", 9), path);
    close(file);
}

int main(void) {
    int turn[2], status;
    char byte;
    must(pipe(turn), "pipe");
    pid_t own = getpid(), writer = fork();
    if (writer == 0) {
        must(read(turn[0], &byte, 1), "read");
        map(own, "uid_map");
        map(own, "gid_map");
        _exit(0);
    }
    must(unshare(CLONE_NEWUSER), "user namespace");
    must(write(turn[1], "x", 1), "write");
    must(waitpid(writer, &status, 0), "waitpid");
    must(unshare(CLONE_NEWNS | CLONE_NEWNET), "mount and network namespaces");
    must(mount("", "/", NULL, MS_PRIVATE | MS_REC, NULL), "private");
    must(mount("tmpfs", "/mnt", "tmpfs", 0, NULL), "root");
    must(chdir("/mnt"), "chdir");
    for (int at = 0; at < 24; at++) {
        char path[16];
        snprintf(path, sizeof path, at ? "d%d" : "usr", at);
        must(mkdir(path, 0755), path);
        must(mount("/usr", path, NULL, MS_BIND | MS_REC, NULL), path);
    }
    const char *links[] = {"bin", "lib", "lib64"};
    for (int at = 0; at < 3; at++) {
        char to[16];
        snprintf(to, sizeof to, "usr/%s", links[at]);
        must(symlink(to, links[at]), to);
    }
    must(mkdir("proc", 0755), "proc");
    must(mount("/proc", "proc", NULL, MS_BIND | MS_REC, NULL), "bind proc");
    must(syscall(SYS_pivot_root, ".", "."), "pivot_root");
    must(umount2(".", MNT_DETACH), "umount");
    must(chdir("/"), "chdir");
    pid_t above = syscall(SYS_clone, SIGCHLD | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC, 0, 0, 0, 0);
    must(above, "clone");
    if (above == 0) {
        must(mount("proc", "/proc", "proc", MS_NOSUID, NULL), "mount proc");
        pid_t program = fork();
        if (program == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(127);
        }
        must(waitpid(program, &status, 0), "waitpid");
        _exit(WEXITSTATUS(status));
    }
    must(waitpid(above, &status, 0), "waitpid");
    return WEXITSTATUS(status);
}
