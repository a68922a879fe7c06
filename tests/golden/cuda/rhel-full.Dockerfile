FROM <rhel>
