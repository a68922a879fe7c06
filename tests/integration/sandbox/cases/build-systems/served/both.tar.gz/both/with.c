const char *built_with(void) { return BUILT_WITH; }
