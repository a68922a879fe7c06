FROM <arch>
