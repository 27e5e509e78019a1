KERNELS: object
