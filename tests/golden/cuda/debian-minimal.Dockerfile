FROM <runtime>
