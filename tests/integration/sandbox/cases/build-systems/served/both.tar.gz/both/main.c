#include <stdio.h>
#include <stdlib.h>

const char *built_with(void);

int main(void) {
    printf("goodbye %s, from VERSION_HERE with %s\n", getenv("GREETED"), built_with());
    return 0;
}
