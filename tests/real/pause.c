/* The process that holds a pod's namespaces: it does nothing until it is told to end. As the first
 * process of a namespace it inherits orphans, and lets them go. */
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int number) {
    (void)number;
    _exit(0);
}

static void reap(int number) {
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
}

int main(void) {
    struct sigaction ending = {.sa_handler = end};
    struct sigaction reaping = {.sa_handler = reap, .sa_flags = SA_NOCLDSTOP};
    if (sigaction(SIGINT, &ending, NULL) || sigaction(SIGTERM, &ending, NULL) ||
        sigaction(SIGCHLD, &reaping, NULL))
        return 1;
    for (;;)
        pause();
}
