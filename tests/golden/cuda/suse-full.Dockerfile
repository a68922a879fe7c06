FROM <suse>
