FROM <builder>
