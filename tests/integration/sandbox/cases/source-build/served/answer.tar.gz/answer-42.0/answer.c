#include <stdio.h>

int main(void) {
    printf("the answer of 42.0 in %s\n", PREFIX);
    return 0;
}
