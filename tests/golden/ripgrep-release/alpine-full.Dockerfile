FROM <alpine>
